import { ServiceError } from '../errors.ts'
import { Secret } from '../secret.ts'

/** The terminal that questions are asked on. */
export interface Questioner {
  askText(question: string): Promise<string>
  /** Nothing that is typed appears, and no key shows it. `check` says what is wrong, or true. */
  askSecret(question: string, check?: (text: string) => true | string): Promise<Secret>
}

export interface PromptPlace {
  readonly stdinIsTTY: boolean
  readonly stderrIsTTY: boolean
  /** `--no-input` */
  readonly noInput: boolean
}

/** Why nobody can be asked, or null. The answer is typed on stdin, the question stands on stderr. */
export function whyNoQuestions({ stdinIsTTY, stderrIsTTY, noInput }: PromptPlace): string | null {
  if (noInput) return '--no-input is given'
  if (!stdinIsTTY) return 'stdin is no terminal'
  return stderrIsTTY ? null : 'stderr is no terminal'
}

/**
 * Throws `usage_invalid` when nobody can be asked for `what`, naming the other ways of giving it.
 * Questions throw `cancelled` on Ctrl-C and Ctrl-D.
 */
export function requireQuestioner(place: PromptPlace, what: string, otherWays: string): Questioner {
  const why = whyNoQuestions(place)
  if (why === null) return questioner
  throw new ServiceError('usage_invalid', `${what} is missing, and ${why}`, { hint: otherWays })
}

const questioner: Questioner = {
  async askText(question) {
    const { input } = await import('@inquirer/prompts')
    const text = await asked(context => input({ message: question, required: true }, context))
    return text.trim()
  },
  async askSecret(question, check = () => true) {
    const { password } = await import('@inquirer/prompts')
    const validate = (text: string) => (text === '' ? 'Nothing was typed' : check(text))
    const text = await asked(context =>
      // Without `toggleMask: false`, Ctrl-T shows the password.
      password({ message: question, mask: false, toggleMask: false, validate }, context),
    )
    return new Secret(text)
  },
}

interface PromptContext {
  readonly output: NodeJS.WriteStream
  readonly signal: AbortSignal
}

async function asked<T>(ask: (context: PromptContext) => Promise<T>): Promise<T> {
  const abort = new AbortController()
  // On Ctrl-D the prompt lets go of stdin and is never settled: the program would end with 0.
  const onPause = (): void => void setImmediate(() => abort.abort())
  process.stdin.once('pause', onPause)
  try {
    return await ask({ output: process.stderr, signal: abort.signal })
  } catch (error) {
    if (error instanceof Error && cancelled.has(error.name)) {
      throw new ServiceError('cancelled', 'cancelled at the prompt: nothing was saved')
    }
    throw error
  } finally {
    process.stdin.removeListener('pause', onPause)
  }
}

const cancelled = new Set(['ExitPromptError', 'AbortPromptError', 'CancelPromptError'])
