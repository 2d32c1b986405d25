import { ServiceError } from '../util/errors.ts'
import { Secret } from '../util/secret.ts'

/** The terminal that questions are asked on. */
export interface Questioner {
  askText(question: string): Promise<string>
  /** No is the answer of an empty line. */
  askYes(question: string): Promise<boolean>
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
    const text = await asked(question, context =>
      input({ message: question, required: true }, context),
    )
    return text.trim()
  },
  async askYes(question) {
    const { confirm } = await import('@inquirer/prompts')
    return asked(question, context => confirm({ message: question, default: false }, context))
  },
  async askSecret(question, check = () => true) {
    const { password } = await import('@inquirer/prompts')
    const validate = (text: string) => (text === '' ? 'Nothing was typed' : check(text))
    const text = await asked(question, context =>
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

async function asked<T>(question: string, ask: (context: PromptContext) => Promise<T>): Promise<T> {
  const { stdin, stderr } = process
  const abort = new AbortController()
  let isContinued = false
  // On Ctrl-D the prompt lets go of stdin and is never settled: the program would end with 0.
  const onPause = (): void => {
    if (!isContinued) setImmediate(() => abort.abort())
  }
  // After Ctrl-Z and `fg` the prompt lets go of stdin too, and the shell has changed the terminal:
  // without raw mode the rest of a password would be shown.
  const onContinue = (): void => {
    isContinued = true
    setImmediate(() => {
      isContinued = false
      // Setting the mode that Node believes to be set does nothing.
      stdin.setRawMode(false)
      stdin.setRawMode(true)
      stdin.resume()
      stderr.write(`${question} `)
    })
  }
  stdin.on('pause', onPause)
  // Before the listener of the prompt, which comes with Ctrl-Z.
  process.on('SIGCONT', onContinue)
  try {
    return await ask({ output: stderr, signal: abort.signal })
  } catch (error) {
    if (error instanceof Error && cancelled.has(error.name)) {
      throw new ServiceError('cancelled', 'cancelled at the prompt: nothing was saved')
    }
    throw error
  } finally {
    stdin.off('pause', onPause)
    process.off('SIGCONT', onContinue)
  }
}

const cancelled = new Set(['ExitPromptError', 'AbortPromptError', 'CancelPromptError'])
