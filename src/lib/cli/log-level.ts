/** From the most to the least verbose. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

/** The flags of a long-running command for what it prints, as the parser returns them. */
export interface OutputFlags {
  readonly 'log-level'?: LogLevel
  readonly quiet: boolean
  readonly json: boolean
}

export function levelOf({ 'log-level': level, quiet }: Omit<OutputFlags, 'json'>): LogLevel {
  return level ?? (quiet ? 'warn' : 'info')
}
