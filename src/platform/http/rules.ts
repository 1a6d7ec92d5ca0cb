import { Transform } from 'class-transformer';
import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import {
  buildMessage,
  IsInt,
  IsString,
  Max,
  Min,
  registerDecorator,
  ValidateBy,
  ValidateIf,
  type ValidationOptions,
} from 'class-validator';
import { isDecimalId } from '../ids/ids.js';
import { isTopic } from '../ids/topic.js';

/** Names that clients make up for requests and messages: safe in keys, compared byte for byte. */
const CLIENT_ID = /^[A-Za-z0-9_.:-]{1,64}$/;

const rule = (name: string, text: string, check: (value: unknown) => boolean, options?: ValidationOptions) =>
  ValidateBy({ name, validator: { validate: check, defaultMessage: buildMessage(() => text, options) } }, options);

/** A decimal id in a string, such as `"42"`. */
export const IsId = (options?: ValidationOptions): PropertyDecorator =>
  rule('isId', 'must be a decimal id in a string', isDecimalId, options);

/** `grp_…`, `p2p_…_…`, `self_…` or `room_…`. */
export const IsTopicName = (options?: ValidationOptions): PropertyDecorator =>
  rule('isTopicName', 'must be a topic such as "grp_1"', isTopic, options);

/** 1 to 64 characters of `A-Z a-z 0-9 _ . : -`. */
export const IsClientId = (options?: ValidationOptions): PropertyDecorator =>
  rule(
    'isClientId',
    'must be 1 to 64 characters of A-Z a-z 0-9 _ . : -',
    (value) => typeof value === 'string' && CLIENT_ID.test(value),
    options,
  );

/** A whole number from 0 to 2^53 - 1. */
export const IsSeq = (options?: ValidationOptions): PropertyDecorator =>
  applyDecorators(IsInt(options), Min(0, options), Max(Number.MAX_SAFE_INTEGER, options)) as PropertyDecorator;

/** JSON text of at most `bytes`; more is PAYLOAD_TOO_LARGE. */
export function MaxJsonBytes(bytes: number): PropertyDecorator {
  return (target, property) =>
    registerDecorator({
      name: 'maxJsonBytes',
      target: target.constructor,
      propertyName: property as string,
      options: { message: `must be at most ${bytes} bytes of JSON`, context: { code: 'PAYLOAD_TOO_LARGE' } },
      validator: {
        validate: (value: unknown) => value === undefined || Buffer.byteLength(JSON.stringify(value)) <= bytes,
      },
    });
}

/**
 * Free JSON is taken as it came: class-transformer would leave out keys that are named like functions of every object. It
 * was looked through before, and its own rules come after.
 */
export const FreeJson = (): PropertyDecorator =>
  Transform(({ obj, key }: { obj: unknown; key: string }) => (obj as Record<string, unknown>)[key]);

/** A number in a query. Only a plain number is one; `10;` or `1e3` stays text and is refused. */
export const QueryNumber = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^-?\d{1,16}(\.\d{1,6})?$/.test(value) ? Number(value) : value,
  );

/** How many entries a page shall hold at most: 1 to `most`. */
export const PageLimit = (most: number, preset: number): PropertyDecorator =>
  applyDecorators(
    ApiPropertyOptional({ type: Number, minimum: 1, maximum: most, default: preset }),
    IfGiven(),
    IsInt(),
    Min(1),
    Max(most),
  ) as PropertyDecorator;

/** C0 and C1 controls, line and paragraph separators: they let a name imitate other text. */
const CONTROL = /[\p{Cc}\u2028\u2029]/u;
/** Lone surrogates cannot be stored as UTF-8. */
const LONE_SURROGATE = /\p{Cs}/u;

/** One line of text of `min` to `max` code points, not only spaces when `min` is above 0. */
export function isLine(value: unknown, min: number, max: number): boolean {
  if (typeof value !== 'string' || value.length > max * 2 || CONTROL.test(value) || LONE_SURROGATE.test(value)) {
    return false;
  }
  const length = [...value].length;
  return length >= min && length <= max && (min === 0 || value.trim() !== '');
}

/** As `isLine`: for names, titles and whatever else is shown in one line. */
export function IsLine(min: number, max: number): PropertyDecorator {
  const message = `must be one line of ${min} to ${max} characters without control characters`;
  return applyDecorators(
    IsString(),
    rule('isLine', message, (value) => isLine(value, min, max)),
  );
}

/** A scheme that a browser would carry out or fetch, or a host without one. */
const SCHEME = /^[\s]*[a-z][a-z0-9+.-]*:|^[/\\]/i;
/** What ends an attribute or an address in a page, and what some browsers read as a slash. */
const UNSAFE = /[\s"'<>`\\]/u;

/**
 * An address that a page may show: `http(s)://…` without a user in it, or the key of a stored object (`a/b.png`), which
 * has no scheme, no `..` and does not begin with a slash. Never `javascript:`, `data:` or the like.
 */
export function isReference(value: unknown): boolean {
  if (typeof value !== 'string' || value === '' || CONTROL.test(value) || LONE_SURROGATE.test(value)) return false;
  if (UNSAFE.test(value)) return false;
  if (/^https?:\/\//i.test(value)) {
    const url = URL.canParse(value) ? new URL(value) : null;
    return url !== null && url.hostname !== '' && url.username === '' && url.password === '';
  }
  return !SCHEME.test(value) && !value.split('/').includes('..');
}

/** The picture of a user or group: nothing, or as `isReference`, of at most `max` characters. */
export function IsPicture(max: number): PropertyDecorator {
  return applyDecorators(
    IsLine(0, max),
    rule(
      'isPicture',
      'must be a URL that begins with https:// or http://, or an object key such as "avatars/1.png"',
      (value) => value === '' || isReference(value),
    ),
  );
}

/** Absent is fine; null is not (unlike `IsOptional`). */
export const IfGiven = (): PropertyDecorator => ValidateIf((_object, value) => value !== undefined);

/** Refuses the field when `other` is given, too. */
export function NotBesides(other: string): PropertyDecorator {
  return (target, property) =>
    registerDecorator({
      name: 'notBesides',
      target: target.constructor,
      propertyName: String(property),
      validator: {
        validate: (_value, args) => (args?.object as Record<string, unknown> | undefined)?.[other] === undefined,
        defaultMessage: () => `cannot be given together with ${other}`,
      },
    });
}
