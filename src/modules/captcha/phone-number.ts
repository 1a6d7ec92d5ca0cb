import { isSupportedCountry, parsePhoneNumberFromString, type CountryCode } from 'libphonenumber-js/min';
import { invalid } from '../../platform/errors/app-error.js';

/** A country code in brackets, which the library does not take for one. */
const BRACKETS = /^\s*[(（]\s*([+＋][\d０-９]{1,4})\s*[)）]/;

/**
 * One spelling (E.164) for every way to write a number: blanks, hyphens, full-width digits, `0086`, `(+86)`, a national number.
 * Two spellings of one phone must never be two phones for the limits.
 * @param country ISO code for numbers without a country code
 * @throws AppError VALIDATION_FAILED
 */
export function normalPhone(text: string, country: string): string {
  const defaultCountry: CountryCode = isSupportedCountry(country) ? country : 'CN';
  const parsed =
    text.length > 40
      ? undefined
      : parsePhoneNumberFromString(text.replace(BRACKETS, '$1 '), { defaultCountry, extract: false });
  // An extension would make many subjects of one phone.
  if (!parsed?.isValid() || parsed.ext !== undefined) throw invalid('phone', 'must be a phone number');
  return parsed.number;
}
