# Bloom trees: figure 12 of the CIKM paper.
load system("dirname ".ARG0)."/style.gp"
set terminal pngcairo size 1040,430 font "DejaVu Sans,11" background "#ffffff"
set output out
levels = data."/push-trees-levels.dat"
down = data."/push-trees-top-down.dat"
set multiplot layout 1,3 margins 0.065,0.985,0.14,0.84 spacing 0.085 title \
  "Bloom trees of five levels, 256 leaves"
set style data histograms
set style fill solid 0.85 noborder
set boxwidth 0.9
set xlabel "levels climbed"
set yrange [0:*]
set key top left
set title "Where events end"
set ylabel "part of the events"
plot levels using 2:xtic(1) lc rgb "#0072b2" title "sparse", \
  levels using 3 lc rgb "#d55e00" title "dense"
set title "Filters tested or set"
set ylabel "accesses per event"
set yrange [0:1.6]
set key top right
plot levels using 4:xtic(1) lc rgb "#0072b2" title "sparse", \
  levels using 5 lc rgb "#d55e00" title "dense"
set title "Top-down testing"
set xlabel "threshold (0: none)"
set ylabel "false positive rate"
set xrange [-0.2:4.2]
set xtics 1
set yrange [0:*]
plot \
  down index 0 using 1:2 with linespoints ls 1 title "sparse", \
  down index 1 using 1:2 with linespoints ls 2 title "dense", \
  down index 0 using 1:4 with linespoints ls 1 dt 2 pt 6 title "sparse, climbs on", \
  down index 1 using 1:4 with linespoints ls 2 dt 2 pt 4 title "dense, climbs on"
unset multiplot
