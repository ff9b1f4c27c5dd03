//! The declaration of enums whose variants have names.

/// Declares an enum with its variants, their names and all of them; behind `or`, the error for a
/// name that none has.
macro_rules! named_enum {
    (
        $(#[doc = $enum_doc:literal])+
        $enum:ident $(or $unknown:ident = $message:literal)? {
            $($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[doc = $enum_doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $enum {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl $enum {
            /// All of them, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name on the wire and in storage.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        $(
            #[doc = concat!("Error: ", $message, ".")]
            #[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
            #[error($message)]
            pub struct $unknown;

            impl std::str::FromStr for $enum {
                type Err = $unknown;

                fn from_str(name: &str) -> Result<Self, $unknown> {
                    Self::ALL.iter().copied().find(|known| known.name() == name).ok_or($unknown)
                }
            }
        )?
    };
}
pub(crate) use named_enum;
