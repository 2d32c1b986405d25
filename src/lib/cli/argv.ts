/** `[globals] command [rest]` → `command [globals] [rest]`: to oclif the first word is the command. */
export function hoistGlobalFlags(argv: string[]): string[] {
  let end = 0
  for (let word = argv[end]; word !== undefined; word = argv[end]) {
    if (!/^(?:--json|--quiet|-q|--token(?:=.*)?)$/s.test(word)) break
    end += word === '--token' ? 2 : 1
  }
  const rest = argv.slice(end)
  const flag = rest.findIndex(word => word.startsWith('-'))
  const words = flag === -1 ? rest : rest.slice(0, flag)
  return [...words, ...argv.slice(0, end), ...rest.slice(words.length)]
}
