# Dynamic size under a burst: figures 10 and 11 of the CIKM paper.
load system("dirname ".ARG0)."/style.gp"
set terminal pngcairo size 1040,760 font "DejaVu Sans,11" background "#ffffff"
set output out
file = data."/push-bursts.dat"
# A data set for each: times (2, 5), window (100, 500, 1000), kind.
set(times, window, kind) = 9 * times + 3 * window + kind
set multiplot layout 2,2 margins 0.08,0.97,0.08,0.90 spacing 0.10,0.12 title \
  "A burst of five times the rate, between slots 2 000 and 4 000"
set xlabel "slot"
set xrange [0:6000]
set yrange [0:*]
set key top left
set ylabel "filters of timers"
set yrange [0:7]
set title "By density"
plot for [w=0:2] file index set(1, w, 0) using 1:2 with steps ls (w + 1) \
  title sprintf("window of %s slots", word("100 500 1000", w + 1))
set title "By cardinality"
plot for [w=0:2] file index set(1, w, 1) using 1:2 with steps ls (w + 1) \
  title sprintf("window of %s slots", word("100 500 1000", w + 1))
set yrange [0:*]
set title "Memory, window of 1 000 slots"
set yrange [0:350]
set ylabel "kB"
plot \
  file index set(1, 2, 0) using 1:($3 / 1000) with steps ls 3 title "timers, by density", \
  file index set(1, 2, 1) using 1:($3 / 1000) with steps ls 2 title "timers, by cardinality", \
  file index set(1, 2, 2) using 1:($3 / 1000) with steps ls 1 title "the stream's filter"
set title "False positives, window of 1 000 slots (0.05 was asked for)"
set ylabel "false positive rate"
set yrange [0:0.2]
plot \
  file index set(1, 2, 0) using 1:4 smooth unique with lines ls 3 lw 1.2 title "timers, by density", \
  file index set(1, 2, 1) using 1:4 smooth unique with lines ls 2 lw 1.2 title "timers, by cardinality", \
  file index set(1, 2, 2) using 1:4 smooth unique with lines ls 1 lw 1.2 title "the stream's filter", \
  0.05 with lines lc rgb "#777777" dt 2 notitle
unset multiplot
