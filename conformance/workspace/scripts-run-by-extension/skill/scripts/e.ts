const ships: number = 3;
console.log(ships);
