export interface UnauthorizedResult {
  readonly success: false
  readonly message: string
}

/** What a handler answers when `validateBearerToken` returned false. */
export function unauthorizedResult(
  message = 'unauthorized: a valid bearer token is required',
): UnauthorizedResult {
  return { success: false, message }
}
