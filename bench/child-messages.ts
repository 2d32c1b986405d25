/** A question over the channel between the benchmark and a child process, and its answer. */
export interface Question {
  readonly id: number
  readonly ask: string
  readonly with: unknown
}

export type Reply =
  { readonly id: number; readonly value: unknown } | { readonly id: number; readonly error: string }

/** Answers the questions of the parent process; ends this process when the parent is gone. */
export function answerQuestions(
  answers: Readonly<Record<string, (argument: never) => unknown>>,
): void {
  process.on('message', async (question: Question) => {
    const reply = await answerOne(answers, question)
    if (process.connected) process.send?.(reply)
  })
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
}

async function answerOne(
  answers: Readonly<Record<string, (argument: never) => unknown>>,
  question: Question,
): Promise<Reply> {
  const { id, ask } = question
  try {
    const answer = answers[ask]
    if (answer === undefined) throw new Error(`nothing answers "${ask}"`)
    return { id, value: await answer(question.with as never) }
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) }
  }
}
