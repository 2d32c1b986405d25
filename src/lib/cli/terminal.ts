import { styleText } from 'node:util'

/** Whether the stream is a terminal with colours; NO_COLOR and TERM=dumb switch them off. */
export function hasColour(stream: { hasColors?(): boolean }): boolean {
  return stream.hasColors?.() === true
}

/** Columns of the terminal; unlimited when the stream is not a terminal. */
export function terminalWidth(stream: { isTTY?: boolean; columns?: number }): number {
  return stream.isTTY === true && stream.columns ? stream.columns : Infinity
}

export type Style = 'none' | 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** The text in a style, or unchanged without `colour`, which `hasColour` decides. */
export function paint(colour: boolean, style: Style, text: string): string {
  return colour ? styleText(style, text, { validateStream: false }) : text
}
