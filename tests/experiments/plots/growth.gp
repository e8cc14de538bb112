# A node's traffic as the network grows.
load system("dirname ".ARG0)."/style.gp"
set title "Traffic of one node: 4 000 pairs shared, 1 000 new ones, random pairs"
set xlabel "nodes"
set ylabel "bytes per node until all are equal"
set logscale x
set format x "10^{%L}"
set xrange [7:1500000]
set yrange [0:*]
set key top left
plot \
  data."/growth-bloom-measured.dat" using 1:2 with points ls 2 \
    title "Distributed Bloom Filter, 50 %", \
  data."/growth-bloom-paper.dat" using 1:2 with linespoints ls 2 dt 2 pt 4 \
    title "the same, extrapolated", \
  data."/growth-adaptive-measured.dat" using 1:2 with points ls 1 \
    title "rocksync, adaptive", \
  data."/growth-adaptive-paper.dat" using 1:2 with linespoints ls 1 dt 2 pt 6 \
    title "the same, extrapolated"
