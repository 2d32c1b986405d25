import { ServiceError } from './errors.ts'

/** The user wrote something that cannot be meant: exit code 2. `hint` says what to write instead. */
export function usage(message: string, hint?: string): ServiceError {
  return new ServiceError('usage_invalid', message, { hint })
}
