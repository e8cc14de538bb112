# Sliding windows at equal memory.
load system("dirname ".ARG0)."/style.gp"
file = data."/push-memory.dat"
set title "Sliding windows: false positives against memory"
set xlabel "bits of memory per element of the window"
set ylabel "false positive rate"
set logscale y
set format y "10^{%L}"
set xrange [6:50]
set yrange [0.00002:500]
set ytics 0.0001,10,1
set key top right
nonzero(y) = y > 0 ? y : NaN
plot \
  file using 1:(nonzero($2)) with linespoints ls 4 \
    title "timers of 15 bits, exact, as in the paper", \
  file using 1:(nonzero($6)) with linespoints ls 2 dt 3 pt 4 \
    title "timers of 3 bits", \
  file using 1:(nonzero($4)) with linespoints ls 2 title "timers of 2 bits", \
  file using 1:(nonzero($10)) with linespoints ls 3 dt 3 pt 8 \
    title "2 generations", \
  file using 1:(nonzero($12)) with linespoints ls 3 title "5 generations", \
  data."/push-memory-window.dat" using 1:(nonzero($2)) with linespoints ls 1 \
    title "the stream's filter, which adapts to the rate"
