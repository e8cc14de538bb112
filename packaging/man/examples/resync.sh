# The stopped replica in the directory c was away for long: it is brought up to date by a copy of the running one at db1:7400, and stays replica c:
rocksync resync db1:7400 c --cluster orders --ca ca.pem \
    --certificate c.pem --private-key c.key --secret secret
