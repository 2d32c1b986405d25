import { ServiceError, usage } from '../util/errors.ts'
import { Secret } from '../util/secret.ts'

/**
 * What asks the user on the terminal; it reads stdin and writes to stderr. Throws `usage_invalid`
 * with the hint `otherWays` when `what` cannot be asked for.
 */
export function requirePrompt(what: string, otherWays: string, noInput = false) {
  const why = whyNoPrompt(noInput)
  if (why === null) return prompt
  throw usage(`${what} is missing, and ${why}`, otherWays)
}

function whyNoPrompt(noInput: boolean): string | null {
  if (noInput) return '--no-input is given'
  if (!process.stdin.isTTY) return 'stdin is not a terminal'
  return process.stderr.isTTY ? null : 'stderr is not a terminal'
}

/** All throw `cancelled` on Ctrl-C and Ctrl-D, and after Ctrl-Z. */
const prompt = {
  async askText(question: string): Promise<string> {
    const { input } = await import('@inquirer/prompts')
    const text = await asked(context => input({ message: question, required: true }, context))
    return text.trim()
  },
  /** An empty line means no. */
  async askYes(question: string): Promise<boolean> {
    const { confirm } = await import('@inquirer/prompts')
    return asked(context => confirm({ message: question, default: false }, context))
  },
  /** Never shows the input. `check` returns true or what is wrong. */
  async askSecret(
    question: string,
    check: (text: string) => true | string = () => true,
  ): Promise<Secret> {
    const { password } = await import('@inquirer/prompts')
    const validate = (text: string) => (text === '' ? 'Nothing was typed' : check(text))
    const text = await asked(context =>
      // Without `toggleMask: false`, Ctrl-T shows the password.
      password({ message: question, mask: false, toggleMask: false, validate }, context),
    )
    return new Secret(text)
  },
}

async function asked<T>(
  ask: (context: { output: NodeJS.WriteStream; signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const { stdin, stderr } = process
  const abort = new AbortController()
  // On Ctrl-D, and on Ctrl-Z and `fg`, the prompt pauses stdin and never settles: the program would
  // exit with 0.
  const onPause = (): void => void setImmediate(() => abort.abort())
  stdin.on('pause', onPause)
  try {
    return await ask({ output: stderr, signal: abort.signal })
  } catch (error) {
    if (error instanceof Error && /^(?:Exit|Abort|Cancel)Prompt/.test(error.name)) {
      throw new ServiceError('cancelled', 'cancelled at the prompt: nothing was saved')
    }
    throw error
  } finally {
    stdin.off('pause', onPause)
  }
}
