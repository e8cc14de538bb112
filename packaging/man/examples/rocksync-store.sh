# Two replicas on one computer, for a trial:
rocksync-store --dir first --certificates trial --redis-port 6401 \
    --listen 127.0.0.1:7401 --peer 127.0.0.1:7402 &
rocksync-store --dir second --certificates trial --redis-port 6402 \
    --listen 127.0.0.1:7402 --peer 127.0.0.1:7401 &
until redis-cli -p 6401 PING && redis-cli -p 6402 PING; do sleep 0.2; done
redis-cli -p 6401 SET hello world
redis-cli -p 6402 REPLICATION SYNC 127.0.0.1:7401
redis-cli -p 6402 GET hello
