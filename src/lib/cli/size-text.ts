const units = ['kB', 'MB', 'GB', 'TB', 'PB']

/** `512 B`, `1.4 kB`, `300 MB`: as disks and networks count, in thousands. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  let value = bytes
  let unit = 'B'
  for (const next of units) {
    value /= 1000
    unit = next
    if (value < 999.5) break
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${unit}`
}
