# Slices of filters filled from empty: figures 5 (a) and (d) of the CIKM paper.
load system("dirname ".ARG0)."/style.gp"
set terminal pngcairo size 1040,470 font "DejaVu Sans,11" background "#ffffff"
set output out
rates = data."/push-slices-rates.dat"
least = data."/push-slices-at-least.dat"
set multiplot layout 1,2 margins 0.08,0.985,0.13,0.86 spacing 0.10 title \
  "Filters filled from empty by a Zipf stream, 5.7 % of it distinct"
set title "False positives by slices, k = 4"
set xlabel "slices"
set ylabel "false positive rate, mean of the stream"
set xrange [0:165]
set yrange [0:*]
set key top left maxrows 3
plot \
  rates index 2 using 2:4 with linespoints ls 2 title "horizontal", \
  rates index 2 using 2:5 with linespoints ls 1 title "vertical", \
  rates index 2 using 2:3 with lines lc rgb "#777777" dt 2 lw 1.5 title "formula", \
  rates index 1 using 2:4 with linespoints ls 2 notitle, \
  rates index 1 using 2:5 with linespoints ls 1 notitle, \
  rates index 1 using 2:3 with lines lc rgb "#777777" dt 2 lw 1.5 notitle, \
  rates index 0 using 2:4 with linespoints ls 2 notitle, \
  rates index 0 using 2:5 with linespoints ls 1 notitle, \
  rates index 0 using 2:3 with lines lc rgb "#777777" dt 2 lw 1.5 notitle
set title "A duplicate if at least x of 8 bits are set; 20 % lost"
set xlabel "x"
set ylabel "rate of errors"
set xrange [0.8:7.2]
set yrange [0:1]
set key top center maxrows 4
plot \
  least index 0 using 1:2 with linespoints ls 2 title "false positives, full at 0.02", \
  least index 0 using 1:3 with linespoints ls 1 title "false negatives, full at 0.02", \
  least index 3 using 1:2 with linespoints ls 2 dt 2 pt 4 title "false positives, 33 bits each", \
  least index 3 using 1:3 with linespoints ls 1 dt 2 pt 6 title "false negatives, 33 bits each"
unset multiplot
