exports.summarise = csv => {
  const [header, ...rows] = csv
    .trim()
    .split(/\r?\n/)
    .map(line => line.split(','));
  const columns = {};
  header.forEach((name, index) => {
    const values = rows.map(row => Number(row[index]));
    if (values.length === 0 || values.some(value => Number.isNaN(value))) return;
    const sorted = values.toSorted((a, b) => a - b);
    const middle = sorted.length / 2;
    columns[name] = {
      count: values.length,
      min: sorted[0],
      max: sorted.at(-1),
      mean: values.reduce((sum, value) => sum + value, 0) / values.length,
      median: (sorted[Math.ceil(middle) - 1] + sorted[Math.floor(middle)]) / 2,
    };
  });
  return columns;
};
