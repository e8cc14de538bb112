# The equal-timers heuristic: figure 9 of the CIKM paper.
load system("dirname ".ARG0)."/style.gp"
set terminal pngcairo size 1040,470 font "DejaVu Sans,11" background "#ffffff"
set output out
v = data."/push-timers-vertical-1000.dat"
h = data."/push-timers-horizontal-1000.dat"
set multiplot layout 1,2 margins 0.08,0.985,0.13,0.86 spacing 0.10 title \
  "Equal timers: a window of 1 000 slots, an event a slot, k = 8, 40 slices"
set xlabel "x timers agree"
set xrange [0.7:8.3]
set yrange [0:1.02]
set title "Of what the plain test calls duplicate: true"
set ylabel "part"
set key bottom right
plot \
  v using 1:2 with linespoints ls 1 title "vertical", \
  h using 1:2 with linespoints ls 2 title "horizontal"
set xlabel "a duplicate if at least x timers agree"
set title "Errors by threshold (rates of 0 are not drawn)"
set ylabel "rate of errors"
set logscale y
set format y "10^{%L}"
set yrange [0.000005:1]
set key bottom right
nonzero(y) = y > 0 ? y : NaN
plot \
  v using 1:(nonzero($3)) with linespoints ls 1 title "false positives, vertical", \
  h using 1:(nonzero($3)) with linespoints ls 2 title "horizontal", \
  v using 1:(nonzero($4)) with linespoints ls 1 dt 2 pt 6 title "false negatives, vertical", \
  h using 1:(nonzero($4)) with linespoints ls 2 dt 2 pt 4 title "horizontal"
unset multiplot
