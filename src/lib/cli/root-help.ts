import { wrapWords } from './format.ts'

interface RootHelp {
  /** Command names (the first word) and their summaries. */
  readonly commands: ReadonlyMap<string, string>
  readonly width: number
}

/** In the order in which a new user needs them. Commands in none of the lists follow the first. */
const first = [
  'serve',
  'mcp-config',
  'adapter',
  'page',
  'instances',
  'doctor',
  'resources',
  'artefacts',
  'notes',
  'checkpoint',
  'gateway',
  'connect',
  'keys',
]
const last = ['help', 'autocomplete']
const accounts = [
  'register',
  'login',
  'logout',
  'whoami',
  'password',
  'token',
  'publish',
  'registry',
]

/** What `service-cli --help` prints. */
export function renderRootHelp({ commands, width }: RootHelp): string {
  const known = new Set([...first, ...accounts, ...last])
  const others = [...commands.keys()].filter(name => !known.has(name))
  const names = [...commands.keys(), ...last].map(name => name.length)
  const indent = ' '.repeat(Math.max(...names) + 4)
  const lines = (wanted: string[]): string[] =>
    wanted.flatMap(name => {
      const summary = commands.get(name)
      if (summary === undefined) return []
      return wrapWords(summary, width, `  ${name}`.padEnd(indent.length), indent)
    })
  return [
    'Show AI clients what is open in Blender, Maya, Houdini and others, live.',
    '',
    'USAGE',
    '  $ service-cli COMMAND [FLAGS]',
    '',
    'COMMANDS',
    ...lines([...first, ...others]),
    '',
    'ACCOUNTS',
    ...lines(accounts),
    '',
    'MORE',
    ...lines(last),
    '',
    'Start with:  service-cli serve --dcc-type blender',
    'Flags of a command:  service-cli COMMAND --help',
    '',
  ].join('\n')
}
