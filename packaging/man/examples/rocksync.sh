# Is the replica at db1:7400 well, and is it equal to the one at db2:7400?
rocksync status db1:7400 --cluster orders --ca ca.pem \
    --certificate op.pem --private-key op.key --secret secret
rocksync verify db1:7400 db2:7400 --cluster orders --ca ca.pem \
    --certificate op.pem --private-key op.key --secret secret
# Each command's own page, such as rocksync-verify(1), has examples of it.
