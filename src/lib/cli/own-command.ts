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
 * The words that run this program in the folder where it was started: `service-cli` where PATH leads
 * to it, else `node bin/run.js`, which works under every Node that `bin/run.js` takes.
 */
export function commandFor({ program, cwd, path = '', platform }: Started): string {
  const windows = platform === 'win32'
  const own = realPath(program)
  const isInstalled = path.split(delimiter).some(folder => {
    // npm adds these for its scripts and npx; the shell of the user does not have them.
    if (!isAbsolute(folder) || folder.includes(`node_modules${sep}.bin`)) return false
    // On Windows it is a script that leads to the program.
    const file = join(folder, windows ? 'service-cli.cmd' : 'service-cli')
    const found = realPath(file)
    return found !== null && (windows || found === own)
  })
  if (isInstalled) return 'service-cli'
  const file = own ?? program
  const way = relative(cwd, file)
  const shown = way.startsWith('..') || isAbsolute(way) ? file : way
  return `node ${quoteArgument(shown, platform)}`
}

/** The first words of all commands. */
export const firstWords: readonly string[] = [
  ...['adapter', 'artefacts', 'connect', 'doctor', 'gateway', 'instances', 'keys', 'login'],
  ...['logout', 'mcp-config', 'password', 'publish', 'register', 'registry', 'resources', 'serve'],
  ...['sessions', 'token', 'whoami'],
]

const ownCommands = new RegExp(
  String.raw`\bservice-cli (?=(?:${firstWords.join('|')}|--help)\b)`,
  'g',
)

/** The text with its commands as they are typed here: `service-cli login` as `node bin/run.js login`. */
export function asTyped(text: string, command?: string): string {
  return text.replaceAll(ownCommands, () => `${command ?? currentCommand()} `)
}

/** Of this process. A program that loads this one as a library has no file to name. */
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

/** A word as it is typed into a shell of the platform, quoted only where it must be. */
export function quoteArgument(word: string, platform: NodeJS.Platform): string {
  if (platform === 'win32') return /^[\w.:\\/-]+$/.test(word) ? word : `"${word}"`
  return /^[\w.,:=@%/+-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
