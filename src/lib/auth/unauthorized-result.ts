/** `{ success: false, message }`, to be sent as it is; `message` is for people. */
export interface UnauthorizedResult {
  readonly success: false
  readonly message: string
}

/**
 * What a handler answers when `validateBearerToken` returned false. Neither the token nor what is
 * wrong with it is told.
 */
export function unauthorizedResult(
  message = 'unauthorized: a valid bearer token is required',
): UnauthorizedResult {
  return { success: false, message }
}
