import { ServiceError } from '../../src/lib/util/errors.ts'

/** The ServiceError that `action` fails with; any other outcome fails the test. */
export async function failureOf(action: () => unknown): Promise<ServiceError> {
  try {
    await action()
  } catch (error) {
    if (error instanceof ServiceError) return error
    throw error
  }
  throw new Error('the action was expected to fail')
}
