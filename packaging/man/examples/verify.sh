# Are two running replicas equal? The exit code is 0 if they are:
rocksync verify db1:7400 db2:7400 --cluster orders --ca ca.pem \
    --certificate op.pem --private-key op.key --secret secret
# The stopped replica in the directory c against a running one:
rocksync verify c db1:7400 --cluster orders --ca ca.pem \
    --certificate op.pem --private-key op.key --secret secret
