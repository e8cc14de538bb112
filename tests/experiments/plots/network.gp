# The network coloured as it converges: figures 7 and 9 of arXiv 1910.07782.
load system("dirname ".ARG0)."/style.gp"
set terminal pngcairo size 900,410 font "DejaVu Sans,9" background "#ffffff"
set output out
nodes = data."/".name.".dat"
edges = data."/".system("echo ".name." | sed s/network/edges/").".dat"
unset border; unset tics; unset grid; unset key
set size ratio -1
set xrange [-1.15:1.15]; set yrange [-1.15:1.15]
# Colour: log10(1 + elements missing); none at all stands out.
set palette defined (0 "#fde725", 0.15 "#fde725", 0.15 "#5ec962", 1 "#21918c", \
                     2 "#3b528b", 2.9 "#440154")
set cbrange [0:2.9]
array column[5] = ["start", "iteration 2", "iteration 4", "iteration 6", "end"]
set multiplot
do for [row=0:1] {
  do for [i=0:4] {
    left = 0.045 + i * 0.172
    low = 0.46 - row * 0.44
    set lmargin at screen left; set rmargin at screen left + 0.165
    set bmargin at screen low; set tmargin at screen low + 0.40
    if (row == 0) { set title column[i + 1] offset 0,-0.6 } else { unset title }
    if (i == 0) {
      set label 1 (row == 0 ? "standard" : "distributed") at screen 0.028, \
        screen low + 0.2 center rotate by 90
    } else { unset label 1 }
    if (row == 1 && i == 4) {
      set colorbox user origin 0.905, 0.12 size 0.014, 0.66
      set cbtics ("none" 0.05, "1" 0.301, "10" 1.041, "100" 2.004, \
        "800" 2.9) scale 0.4
      set cblabel "elements missing" offset 0.5,0
    } else { unset colorbox }
    if (row == 0 && i == 0) {
      set label 2 (name eq "dbf-1-network" ? \
        "Experiment 1: filters of 1 443 bits (mod m)" : \
        "Experiment 2: filters sized for each meeting (mod m)") \
        at screen 0.5, screen 0.965 center font "DejaVu Sans,11"
    } else { unset label 2 }
    plot edges using 1:2 with lines lc rgb "#ececec" lw 0.5, \
      nodes index (row * 5 + i) using 1:2:(log10(1 + $3)) with points pt 7 ps 1.2 lc palette, \
      nodes index (row * 5 + i) using 1:2 with points pt 6 ps 1.2 lw 0.5 \
        lc rgb "#666666"
  }
}
unset multiplot
