# How is the replica at db1:7400?
rocksync status db1:7400 --cluster orders --ca ca.pem \
    --certificate op.pem --private-key op.key --secret secret
# The same for a program; here, the error of each peer:
rocksync status db1:7400 --cluster orders --ca ca.pem \
    --certificate op.pem --private-key op.key --secret secret --json |
    python3 -c 'import json, sys; print([peer["last_error"] for peer in json.load(sys.stdin)["peers"]])'
