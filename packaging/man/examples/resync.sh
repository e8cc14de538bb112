# The stopped replica in the directory c was away for long. A copy of the running one at db1:7400 brings it up to date; it keeps its id:
rocksync resync db1:7400 c --cluster orders --ca ca.pem \
    --certificate c.pem --private-key c.key --secret secret
