# The metrics of two replicas, once:
rocksync exporter db1:7400 db2:7400 --cluster orders --ca ca.pem \
    --certificate op.pem --private-key op.key --secret secret --once
# The same at http://127.0.0.1:9742/metrics, until it is stopped:
rocksync exporter db1:7400 db2:7400 --cluster orders --ca ca.pem \
    --certificate op.pem --private-key op.key --secret secret &
