# Exports what the stopped replica in the directory c holds and the running one at db1:7400 does not, to the directory rescued:
rocksync rescue c --against db1:7400 --output rescued --cluster orders --ca ca.pem \
    --certificate op.pem --private-key op.key --secret secret
