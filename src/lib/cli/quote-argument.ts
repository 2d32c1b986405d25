/** A word as it is typed into a shell of the platform, quoted only where it must be. */
export function quoteArgument(word: string, platform: NodeJS.Platform): string {
  if (platform === 'win32') return /^[\w.:\\/-]+$/.test(word) ? word : `"${word}"`
  return /^[\w.,:=@%/+-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
