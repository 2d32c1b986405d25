import { runCommand } from './in-process.ts'
import { type Ended, cleanEnv } from './program.ts'

/** Whoever owns the files of a registry, and all that the program said to them. */
export interface AccountsOwner {
  /** `registry <words> --data-dir <the folder>`; another folder may be named. */
  run(words: readonly string[], dataDir?: string): Promise<Ended>
  /** The same with `--json`, parsed. Throws unless the command ended well. */
  ask(words: readonly string[], dataDir?: string): Promise<any>
  /** Everything said so far, but what is on stdout of a command that makes a code. */
  said(): string
}

const makesCode = new Set(['reset-code', 'add'])

export function createAccountsOwner(usualDir: string): AccountsOwner {
  let said = ''

  async function run(words: readonly string[], dataDir = usualDir): Promise<Ended> {
    const args = ['registry', ...words, '--data-dir', dataDir]
    const ended = await runCommand(args, { env: cleanEnv({ HOME: usualDir }) })
    said += ended.stderr + (words.some(word => makesCode.has(word)) ? '' : ended.stdout)
    return ended
  }

  return {
    run,
    async ask(words, dataDir) {
      const { code, stdout, stderr } = await run([...words, '--json'], dataDir)
      if (code !== 0) throw new Error(`${words.join(' ')}: ${code} ${stdout}${stderr}`)
      return JSON.parse(stdout)
    },
    said: () => said,
  }
}
