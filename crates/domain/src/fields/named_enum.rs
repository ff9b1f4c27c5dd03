//! The declaration of enums with named variants.

/// Declares an enum with `ALL` and `name()`. With `or Error = "message"`, also implements `FromStr`
/// with that error for unknown names.
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
            /// All variants, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the name on the wire and in storage.
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
