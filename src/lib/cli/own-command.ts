import { realpathSync } from 'node:fs'
import { basename, delimiter, isAbsolute, join, relative, sep } from 'node:path'

interface Started {
  /** `bin/run.js`, as it was started. */
  readonly program: string
  readonly cwd: string
  readonly path: string | undefined
  readonly platform: NodeJS.Platform
}

/**
 * The command line that runs this program in the folder where it was started: `service-cli` when
 * PATH contains it, else `node bin/run.js`.
 */
export function commandFor({ program, cwd, path = '', platform }: Started): string {
  const windows = platform === 'win32'
  const own = realPath(program)
  const isInstalled = path.split(delimiter).some(folder => {
    // npm adds these for its scripts and npx; the shell of the user does not have them.
    if (!isAbsolute(folder) || folder.includes(`node_modules${sep}.bin`)) return false
    // On Windows this is a script that starts the program.
    const file = join(folder, windows ? 'service-cli.cmd' : 'service-cli')
    const found = realPath(file)
    return found !== null && (windows || found === own)
  })
  if (isInstalled) return 'service-cli'
  const file = own ?? program
  const shorter = relative(cwd, file)
  const shown = shorter.startsWith('..') || isAbsolute(shorter) ? file : shorter
  return `node ${quoteArgument(shown, platform)}`
}

/** The first words of all commands. */
export const firstWords: readonly string[] = [
  'adapter',
  'artefacts',
  'checkpoint',
  'connect',
  'doctor',
  'gateway',
  'instances',
  'keys',
  'login',

  'logout',
  'mcp-config',
  'notes',
  'page',
  'password',
  'publish',
  'register',
  'registry',
  'resources',
  'serve',
  'token',
  'whoami',
]

const ownCommands = new RegExp(
  String.raw`\bservice-cli (?=(?:${firstWords.join('|')}|--help)\b)`,
  'g',
)

/** Replaces `service-cli` in the commands of a text by the command line that runs this program. */
export function asTyped(text: string, command?: string): string {
  return text.replaceAll(ownCommands, () => `${command ?? currentCommand()} `)
}

/** The command line of this process; `service-cli` inside a program that uses the library. */
export function currentCommand(): string {
  const { argv, env, platform } = process
  if (basename(realPath(argv[1] ?? '') ?? '') !== 'run.js') return 'service-cli'
  // npm runs its scripts in the folder of the package.
  const cwd = (env.npm_lifecycle_event !== undefined && env.INIT_CWD) || process.cwd()
  return commandFor({ program: argv[1] ?? 'service-cli', cwd, path: env.PATH, platform })
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path)
  } catch {
    return null
  }
}

/** Quotes a word for a shell of the platform where necessary. */
export function quoteArgument(word: string, platform: NodeJS.Platform): string {
  if (platform === 'win32') return /^[\w.:\\/-]+$/.test(word) ? word : `"${word}"`
  return /^[\w.,:=@%/+-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
