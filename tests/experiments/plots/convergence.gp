# How the network converges: figures 6 and 8 of arXiv 1910.07782.
load system("dirname ".ARG0)."/style.gp"
set terminal pngcairo size 1040,470 font "DejaVu Sans,11" background "#ffffff"
set output out
file = data."/".name.".dat"
set xlabel "iteration (each node meets one neighbour)"
set xrange [0:*]
set style fill transparent solid 0.15 noborder
set multiplot layout 1,2 margins 0.075,0.985,0.12,0.90 spacing 0.09 title \
  (name eq "dbf-1-convergence" ? "Experiment 1: filters of 1 443 bits" : \
  "Experiment 2: filters sized for each meeting")." (50 nodes, mod m, one seed)"
set key bottom right
set ylabel "elements held: median of the nodes, and range"
set yrange [0:1050]
plot \
  file using 1:2:4 with filledcurves lc rgb "#d55e00" notitle, \
  file using 1:6:8 with filledcurves lc rgb "#0072b2" notitle, \
  file using 1:3 with linespoints ls 2 title "standard Bloom filter", \
  file using 1:7 with linespoints ls 1 title "distributed", \
  file using 1:11 with linespoints ls 3 lw 1.5 dt 2 pt 8 ps 1.8 \
    title "distributed, with a counter"
unset key
set ylabel "nodes that hold everything"
set yrange [-1:52]
plot \
  file using 1:5 with linespoints ls 2, \
  file using 1:9 with linespoints ls 1, \
  file using 1:13 with linespoints ls 3 lw 1.5 dt 2 pt 8 ps 1.8
unset multiplot
