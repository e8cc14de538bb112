# False positives against bits on the wire.
load system("dirname ".ARG0)."/style.gp"
set title "False positives against bits per element on the wire"
set xlabel "bits per element"
set ylabel "false positive rate"
set logscale y
set format y "%g"
set xrange [0:14]
set yrange [0.001:1]
set samples 200
plot \
  data."/false-positives.dat" using 2:3 with linespoints ls 2 \
    title "Bloom filter, best number of probes", \
  data."/false-positives.dat" using 4:5 with linespoints ls 1 \
    title "one probe, sparse and coded", \
  2**(-x) with lines lc rgb "#777777" lw 1.5 dt 2 title "no filter can do better"
