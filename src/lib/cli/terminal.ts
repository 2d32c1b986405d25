import { styleText } from 'node:util'

interface Terminal {
  readonly isTTY: boolean
  readonly colour: boolean
}

/** NO_COLOR (any value but the empty one) and TERM=dumb switch colour off; so does a pipe. */
export function describeTerminal(isTTY: boolean, env: NodeJS.ProcessEnv): Terminal {
  const refused = (env.NO_COLOR ?? '') !== '' || env.TERM === 'dumb'
  return { isTTY, colour: isTTY && !refused }
}

/** Columns of the terminal; unlimited when the stream is not a terminal. */
export function terminalWidth(stream: { isTTY?: boolean; columns?: number }): number {
  return stream.isTTY === true && stream.columns ? stream.columns : Infinity
}

export type Style = 'none' | 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** The text in a style, or unchanged without `colour`, which `describeTerminal` decides. */
export function paint(colour: boolean, style: Style, text: string): string {
  return colour ? styleText(style, text, { validateStream: false }) : text
}
