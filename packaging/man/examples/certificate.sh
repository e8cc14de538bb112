# A CA, and a certificate for an operator's commands:
rocksync certificate --ca ca.pem --ca-key ca.key --make-ca "orders CA"
rocksync certificate --ca ca.pem --ca-key ca.key --output op
# A certificate for the replica in the directory a, and a year later its renewal:
rocksync certificate --ca ca.pem --ca-key ca.key --output a --id "$(rocksync id --make a)"
rocksync certificate --ca ca.pem --ca-key ca.key --output a
