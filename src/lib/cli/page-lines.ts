import { paint } from './terminal.ts'

/** The login link of the page in a banner, on a line of its own; nothing without a page. */
export function pageLines(
  url: string | null,
  colour: boolean,
  { later, label = 'Page' }: { readonly later?: string; readonly label?: string } = {},
): string[] {
  if (url === null) return []
  const said = `opens once, within five minutes${later === undefined ? '' : `; ${later}`}`
  const gap = ' '.repeat(14 - label.length)
  return [`${paint(colour, 'bold', label)}${gap}${said}`, `  ${url}`]
}
