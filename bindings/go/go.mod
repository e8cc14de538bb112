// There is no license yet: ask the authors before you use it for more than a trial.
module rocksync

go 1.19
