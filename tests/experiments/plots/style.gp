# What all pictures share. Colours are told apart by the colour-blind too.
set terminal pngcairo size 900,540 font "DejaVu Sans,12" background "#ffffff"
set output out
set border 3 lc rgb "#444444"
set tics nomirror textcolor rgb "#222222"
set grid lc rgb "#dddddd" lw 1
set key textcolor rgb "#222222"
set style line 1 lc rgb "#0072b2" lw 2.5 pt 7 ps 1
set style line 2 lc rgb "#d55e00" lw 2.5 pt 5 ps 1
set style line 3 lc rgb "#009e73" lw 2.5 pt 9 ps 1.2
set style line 4 lc rgb "#777777" lw 2.5 pt 13 ps 1.2
