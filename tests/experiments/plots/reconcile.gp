# Bytes on the wire against differences. No difference is drawn at d = 1.
load system("dirname ".ARG0)."/style.gp"
set title "Bytes until two replicas know what each lacks, n = 100 000"
set xlabel "differences (half on each side; none drawn at 1)"
set ylabel "bytes, both directions"
set logscale xy
set format x "10^{%L}"
set format y "10^{%L}"
set xrange [0.8:80000]
set key bottom right
x(d) = d < 1 ? 1 : d
plot \
  data."/reconcile-merkle.dat" using (x($1)):2 with linespoints ls 4 \
    title "Merkle tree", \
  data."/reconcile-bloom.dat" using (x($1)):2 with linespoints ls 2 \
    title "one Bloom filter each way, 1 % left missing", \
  data."/reconcile-dbf.dat" using (x($1)):2 with linespoints ls 3 \
    title "Distributed Bloom Filter, 50 %, as in the paper", \
  data."/reconcile-adaptive.dat" using (x($1)):2 with linespoints ls 1 \
    title "rocksync, adaptive"
