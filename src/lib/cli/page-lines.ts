import { paint } from './terminal.ts'

/** The login link of the page in a banner, on a line of its own; nothing without a page. */
export function pageLines(url: string | null, colour: boolean, later?: string): string[] {
  if (url === null) return []
  const said = `opens once, within five minutes${later === undefined ? '' : `; ${later}`}`
  return [`${paint(colour, 'bold', 'Page')}          ${said}`, `  ${url}`]
}
