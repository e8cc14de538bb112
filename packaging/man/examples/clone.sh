# A copy of the replica at db1:7400, as a new replica in the directory c. First a certificate with an id of its own:
rocksync certificate --ca ca.pem --ca-key ca.key --output c --id "$(openssl rand -hex 8)"
rocksync clone db1:7400 c --cluster orders --ca ca.pem \
    --certificate c.pem --private-key c.key --secret secret
