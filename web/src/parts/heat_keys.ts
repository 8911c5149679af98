export interface CellPlace {
  row: number;
  cell: number;
}

/**
 * Where an arrow key, Home or End leads among rows of so many cells, of which `across` lie side by side; null: nowhere, or
 * another key.
 */
export function nextCell(cells: number[], across: number, { row, cell }: CellPlace, key: string): CellPlace | null {
  const last = (of: number) => (cells[of] ?? 0) - 1;
  // The row above or below that has any.
  const beside = (way: 1 | -1): number | null => {
    for (let other = row + way; other >= 0 && other < cells.length; other += way) if (last(other) >= 0) return other;
    return null;
  };
  const column = cell % across;
  switch (key) {
    case "Home":
      return { row, cell: 0 };
    case "End":
      return { row, cell: last(row) };
    case "ArrowRight": {
      if (cell < last(row)) return { row, cell: cell + 1 };
      const below = beside(1);
      return below === null ? null : { row: below, cell: 0 };
    }
    case "ArrowLeft": {
      if (cell > 0) return { row, cell: cell - 1 };
      const above = beside(-1);
      return above === null ? null : { row: above, cell: last(above) };
    }
    case "ArrowDown": {
      if (cell + across <= last(row)) return { row, cell: cell + across };
      const below = beside(1);
      return below === null ? null : { row: below, cell: Math.min(column, last(below)) };
    }
    case "ArrowUp": {
      if (cell >= across) return { row, cell: cell - across };
      const above = beside(-1);
      if (above === null) return null;
      const lowest = Math.floor(last(above) / across) * across;
      return { row: above, cell: Math.min(lowest + column, last(above)) };
    }
    default:
      return null;
  }
}
