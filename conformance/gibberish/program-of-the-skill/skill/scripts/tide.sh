echo tide
