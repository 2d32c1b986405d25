/** `30 s`, `500 ms`: in the unit in which it is a whole number. */
export function durationText(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`
}
